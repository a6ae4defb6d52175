import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
var o="0.1.0";export{o as a};
