import { start } from "./index.js";
await start("plan");
