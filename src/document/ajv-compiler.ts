/** Importing this brings the compiler of JSON Schemas along: see `ajv.ts`. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { provideAjv } from "./ajv.ts";

provideAjv(Ajv2020);
