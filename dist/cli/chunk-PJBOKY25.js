import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
var PRINTED="printed text";export{PRINTED};
