/**
 * Makes Zod interpret schemas instead of compiling them, because compiling pays off only after many messages. Must be
 * imported first: the setting is read when a schema is created.
 */
import * as z from "zod";

z.config({ jitless: true });
