import { playShare } from "./shares.ts";

playShare(3);
