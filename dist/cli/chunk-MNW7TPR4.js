import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
var version="0.1.0";export{version};
