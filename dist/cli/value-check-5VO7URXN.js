import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{compileValueCheck}from"./chunk-NROKWLN6.js";import"./chunk-AVXWYZHH.js";import"./chunk-IZGZR2AL.js";import"./chunk-TVODYENR.js";import"./chunk-YPU4RQQC.js";export{compileValueCheck};
