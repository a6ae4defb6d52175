import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{compileValueCheck}from"./chunk-GSFHEWAL.js";import"./chunk-JRIQU45J.js";import"./chunk-M2AF7ZUN.js";import"./chunk-C2TZ2DGQ.js";import"./chunk-YPU4RQQC.js";export{compileValueCheck};
