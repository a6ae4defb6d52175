import { start } from "./index.js";
await start("rehearse");
