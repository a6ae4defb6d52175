import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{telemetryReporter}from"./chunk-DE5WE7RA.js";import"./chunk-N5OFUWUT.js";import"./chunk-TVQDJ24Z.js";import"./chunk-RX4PQYY5.js";import"./chunk-MNW7TPR4.js";import"./chunk-NPL26ANC.js";import"./chunk-5HVY2JLQ.js";import"./chunk-C2TZ2DGQ.js";import"./chunk-YPU4RQQC.js";export{telemetryReporter};
