/**
 * Imported before all else: a schema asks when it is made, not when it parses. To compile a parser for
 * each costs more than a message a second ever gains.
 */
import * as z from "zod";

z.config({ jitless: true });
