import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
function failed(reason){return{kind:"failed",reason}}var charactersPerToken=4;export{failed,charactersPerToken};
