import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{telemetryReporter}from"./chunk-KKRYDJ4L.js";import"./chunk-5CXNIV7V.js";import"./chunk-MNW7TPR4.js";import"./chunk-ELBGJFXJ.js";import"./chunk-ZFYJXWCH.js";import"./chunk-GB6SUZGN.js";import"./chunk-COP3IUZT.js";import"./chunk-C2TZ2DGQ.js";import"./chunk-YPU4RQQC.js";export{telemetryReporter};
