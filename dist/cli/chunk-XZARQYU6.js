import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{a as N}from"./chunk-WDYWK357.js";import{l as A,u as C,v as P,x as u}from"./chunk-NZV74GUK.js";import{r as O}from"./chunk-MVE4TMRG.js";import{a as I}from"./chunk-HVRDVZA2.js";import{e as d,f as M,g as E}from"./chunk-TMKOTWEP.js";import{F as k,j as T,ka as f}from"./chunk-CTNGKR45.js";import{open as ht,stat as wt,unlink as gt}from"node:fs/promises";import{dirname as yt}from"node:path";import{readdir as W,stat as J}from"node:fs/promises";import{join as q}from"node:path";import{once as R}from"node:events";import{createGzip as U}from"node:zlib";var X=256*1024,h=class{#t=U();#e=[];#r;#n=[];#o=0;constructor(){this.#t.on("data",t=>this.#e.push(t)),this.#r=R(this.#t,"end"),this.#r.catch(()=>{})}add(t){let n=`${JSON.stringify(t)}
`;this.#n.push(n),this.#o+=n.length,this.#o>=X&&this.#i()}async drained(){this.#t.writableNeedDrain&&await R(this.#t,"drain")}async finish(){return this.#i(),this.#t.end(),await this.#r,this.#e}#i(){this.#n.length>0&&this.#t.write(this.#n.join("")),this.#n=[],this.#o=0}};var L=1e3,v=class{view=A();runId;events=0;#t=0;#e=0;constructor(t){this.runId=t}add(t){this.events===0&&(this.#t=t.at),this.events+=1,this.#e=Math.max(this.#e,t.at),C(this.view,t)}summary(){let{jobName:t,status:n,startedAt:o,endedAt:r,totals:i}=this.view,s=P(this.view),{modelCalls:a,inputTokens:l,outputTokens:m,cost:y,attempts:$,retries:p,crashes:b,denials:j}=i;return{runId:this.runId,jobName:t,status:n==="pending"?"running":n,...o===void 0?{}:{startTime:F(o)},...r===void 0?{}:{endTime:F(r)},durationMs:Math.max(0,(r??this.#e)-(o??this.#t)),...s===""?{}:{reason:k(s,L)},modelCalls:a,inputTokens:l,outputTokens:m,cost:y,attempts:$,retries:p,crashes:b,denials:j}}},w=class{runs=new Map;add(t){for(let n of t){let o=this.runs.get(n.runId);o===void 0&&this.runs.set(n.runId,o=new v(n.runId)),o.add(n)}}summaries(){return[...this.runs.values()].map(t=>t.summary())}};function F(e){return new Date(Math.min(e,864e13)).toISOString()}async function D(e){let t=new Map;for(let n of e){let r=(await J(n,{bigint:!0}).catch(()=>{}))?.isDirectory()===!0?await V(n):[n];for(let i of r){let{dev:s,ino:a}=await J(i,{bigint:!0}).catch(()=>({dev:i,ino:""})),l=`${s}:${a}`;t.has(l)||t.set(l,i)}}return[...t.values()]}async function V(e){return(await W(e,{withFileTypes:!0,recursive:!0})).filter(n=>n.name.endsWith(".jsonl")&&!n.isDirectory()).map(n=>q(n.parentPath,n.name)).sort()}async function H(e){let t=[];for(let r of e)t.push({name:r,...await Y(r)});let n=K(t.map(({tallies:r})=>r)),o=new h;for(let[r,{name:i}]of t.entries()){let s=new Set(n.filter(a=>a.journals[0]===r).map(({runId:a})=>a));s.size>0&&await Q(i,s,o)}return{journals:t.map(({name:r,problems:i,moreProblems:s})=>({name:r,problems:i,moreProblems:s})),runs:n,events:await o.finish(),readable:t.some(({isJournal:r})=>r),intact:t.every(({problems:r,moreProblems:i})=>i===0&&r.every(({kind:s})=>s!=="damaged"))}}async function Y(e){let t=new w;try{return{...await u(e,o=>t.add(o)),tallies:t}}catch(n){return{problems:[{line:1,reason:`The journal can't be read: ${d(n)}`,kind:"damaged"}],moreProblems:0,isJournal:!1,tallies:t}}}function K(e){let t=new Map;for(let[o,{runs:r}]of e.entries())for(let[i,s]of r){let a=t.get(i)??[];a.push({tally:s,index:o}),t.set(i,a)}return[...t.values()].flatMap(o=>{let r=o.toSorted((s,a)=>a.tally.events-s.tally.events),[i]=r;return i===void 0?[]:[{...i.tally.summary(),journals:r.map(({index:s})=>s)}]}).toSorted((o,r)=>(o.startTime??"").localeCompare(r.startTime??""))}async function Q(e,t,n){await u(e,async o=>{for(let r of o)t.has(r.runId)&&n.add(r);await n.drained()})}import{createHash as it}from"node:crypto";import{readFileSync as B}from"node:fs";import{dirname as G,join as g}from"node:path";import{fileURLToPath as Z}from"node:url";var tt=5;function _(e=G(Z(import.meta.url))){let t=e;for(let n=0;n<tt;n++){for(let o of[g(t,"web"),g(t,"dist","web")]){let r=et(o);if(r!==void 0)return r}t=G(t)}}function et(e){try{return{script:B(g(e,"page.js"),"utf8"),style:B(g(e,"page.css"),"utf8")}}catch(t){let n=E(t);if(n==="ENOENT"||n==="ENOTDIR")return;throw new Error(`The files of the page can't be read: ${d(t)}`,{cause:t})}}var Ht=["default-src 'none'","script-src 'self'","style-src 'self' 'unsafe-inline'","connect-src 'self'","img-src data:","font-src 'none'","frame-ancestors 'none'","base-uri 'none'","form-action 'none'"].join("; ");function Bt(e){return rt({title:"agent-jobs",head:`<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>`,boot:{kind:"portal",...e}})}var nt=`data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4a3fd0"/><path d="M4.5 8.5l2.5 2.5 4.8-5.5" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>')}`;function rt(e){return[...S(e)].join("")}function*S({title:e,head:t,boot:n,plain:o="This page needs JavaScript.",data:r=[]}){yield`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="${nt}">
<title>${c(e)}</title>
${t}
</head>
<body>
<div id="app"></div>
<noscript>${o}</noscript>
<script type="application/json" id="boot">${ot(n)}</script>
`,yield*r,yield`</body>
</html>
`}function ot(e){return JSON.stringify(e).replace(/[<>&#\u2028\u2029]/g,t=>`\\u${t.charCodeAt(0).toString(16).padStart(4,"0")}`)}function c(e){return e.replace(/[&<>"'#\r\n]/g,t=>`&#${t.charCodeAt(0)};`)}var x=1e3;function z(e,t,n){let o=ct(n.script),i=`default-src 'none'; script-src 'sha256-${it("sha256").update(o).digest("base64")}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;return S({title:at(e.runs),head:`<meta http-equiv="Content-Security-Policy" content="${i}">
<style>
${lt(n.style)}
</style>`,boot:e,plain:`
${dt(e)}
`,data:st(t,o)})}function*st(e,t){yield'<script type="application/octet-stream" id="events">',yield*ft(e),yield`</script>
<script type="module">${t}</script>
`}function at(e){let[t]=e;return t===void 0?"agent-jobs report":e.length===1?`${t.jobName}: ${t.status} \u2013 agent-jobs report`:`${e.length} runs \u2013 agent-jobs report`}function ct(e){let t=e.replace(/\r\n?/g,`
`).replaceAll("<!--","\\x3c!--");if(/<\/script/i.test(t))throw new Error("The script of the page contains the end of a script.");return t}function lt(e){if(/<\/style/i.test(e))throw new Error("The style of the page contains a tag.");return e}function*ft(e){let t=new Uint8Array;for(let n of e){let o=Buffer.concat([t,n]),r=o.length-o.length%3;yield o.toString("base64",0,r),t=o.subarray(r)}yield Buffer.from(t).toString("base64")}function dt({runs:e,journals:t,createdAt:n,version:o}){let r=e.slice(0,x).map(ut),i=e.length>x?`<p>${e.length-x} more runs are not listed here.</p>`:"";return`<h1>agent-jobs report</h1>
<p>This page needs JavaScript to show more than this table. Created ${c(n)} by agent-jobs ${c(o)}.</p>
<table>
<thead><tr>${pt.map(s=>`<th scope="col">${s}</th>`).join("")}</tr></thead>
<tbody>
${r.join(`
`)}
</tbody>
</table>
${i}
${t.map(mt).join(`
`)}`}var pt=["Job","Status","Start","Duration","Model calls","Input tokens","Output tokens","Cost","Reason"];function ut(e){return`<tr>${[e.jobName,e.status,e.startTime??"",`${Math.round(e.durationMs/1e3)} s`,e.modelCalls,e.inputTokens,e.outputTokens,e.cost,e.reason??""].map(n=>`<td>${c(String(n))}</td>`).join("")}</tr>`}function mt({name:e,problems:t,moreProblems:n}){if(t.length===0)return"";let o=t.map(({line:r,reason:i})=>`<li>Line ${r}: ${c(i)}</li>`);return n>0&&o.push(`<li>${n} more.</li>`),`<h2>Problems of ${c(e)}</h2>
<ul>
${o.join(`
`)}
</ul>`}async function re(e,t){let n=await D(e).catch(p=>{throw new f(`Can't read the journals: ${d(p)}`)});if(n.length===0)throw new f(`There are no *.jsonl files in ${e.join(", ")}.`);t!==void 0&&(N(n,{report:t}),await $t(t));let o=await H(n),{journals:r,runs:i,events:s,intact:a,readable:l}=o;if(!l){let p=r.map(({name:b,problems:[j]})=>`${b}: ${j?.reason}`);throw new f(`No journal can be read.
${p.join(`
`)}`)}let m=_();if(m===void 0)throw new Error(bt);let y=new Date(T.now()).toISOString(),$=z({kind:"report",version:I,createdAt:y,journals:r,runs:i},s,m);return{journals:r,runs:i.length,intact:a,html:$}}async function $t(e){let t=await wt(e).catch(()=>{});if(t?.isFile()!==!0)return;let{isJournal:n}=await u(e,()=>{},{maxBytes:jt});if(t.size>0&&n)throw new f(`The report would overwrite the journal ${e}. Choose another file.`)}var bt="The files of the page, page.js and page.css, are missing.",jt=1024*1024;async function oe(e,t){try{await O(yt(e));let n=await ht(e,"w");try{for(let o of t)await n.writeFile(o)}catch(o){throw(await n.stat()).isFile()&&await gt(e),o}finally{await n.close()}}catch(n){throw new f(`Can't write the report ${e}: ${M(n)}`)}}export{h as a,_ as b,Ht as c,Bt as d,z as e,w as f,re as g,bt as h,oe as i};
