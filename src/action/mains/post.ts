import { finish } from "../main.ts";

await finish();
