/** Importing this brings the compiler of JSON Schemas along: see `value-check.ts`. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { provideAjv } from "./value-check.ts";

provideAjv(Ajv2020);
