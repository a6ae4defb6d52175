import { finish } from "./index.js";
await finish();
