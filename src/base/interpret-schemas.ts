/**
 * Makes Zod interpret schemas. Compiling schemas would pay off only after many messages. Must be imported before all
 * other modules, because Zod reads the setting when it creates a schema.
 */
import * as z from "zod";

z.config({ jitless: true });
