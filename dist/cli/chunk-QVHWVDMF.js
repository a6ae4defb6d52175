import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
function retryAfterMs(value,now){if(typeof value!="string"&&typeof value!="number")return;let left=/^\d+$/.test(String(value))?Number(value)*1e3:Date.parse(String(value))-now;return Number.isFinite(left)?Math.max(0,left):void 0}export{retryAfterMs};
