import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
function i(e,m){let p=e.map((t,n)=>m.reduce((a,d)=>Math.max(a,d[n]?.length??0),t.length));return[e,...m].map(t=>t.map((n,a)=>n.padEnd(p[a]??0)).join("  ").trimEnd())}export{i as a};
