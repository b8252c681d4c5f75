/**
 * Makes Zod interpret schemas instead of compiling them. Compiling takes longer than a few messages ever gain. Must be
 * imported first, because the setting is read when a schema is created.
 */
import * as z from "zod";

z.config({ jitless: true });
