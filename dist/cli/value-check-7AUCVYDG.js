import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{compileValueCheck}from"./chunk-ONJFKSBB.js";import"./chunk-JRIQU45J.js";import"./chunk-J4AWN6GG.js";import"./chunk-C2TZ2DGQ.js";import"./chunk-YPU4RQQC.js";export{compileValueCheck};
