import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{matchingFiles}from"./chunk-UL5BDHSF.js";import"./chunk-PA6LMTXN.js";import"./chunk-QWL5LKTU.js";import"./chunk-YPU4RQQC.js";export{matchingFiles};
