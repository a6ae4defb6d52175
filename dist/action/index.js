import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{e as d,r as f}from"./chunk-EAWZHX7L.js";import"./chunk-FWAHCVJ2.js";import{appendFileSync as m}from"node:fs";function g(n){let e=new AbortController,s=new AbortController,a,t=()=>{s.abort(),process.exit(n.exitCode)},u=()=>{l.onLastCall===void 0&&t(),setTimeout(t,500),l.onLastCall?.().finally(t)},c=o=>{e.signal.aborted||(a=setTimeout(u,n.patienceMs),e.abort(o))},i=o=>{e.signal.aborted&&n.secondExits&&t(),c(`canceled by ${o}`)};for(let o of n.signals)process.on(o,i);let l={signal:e.signal,lastCall:s.signal,onLastCall:void 0,cancel:c,dispose(){clearTimeout(a);for(let o of n.signals)process.off(o,i)}};return l}var r=g({signals:["SIGINT","SIGTERM"],exitCode:1,patienceMs:4e3,secondExits:!1});process.stdout.on("error",({message:n})=>r.cancel(`the log can't be written: ${n}`));process.stderr.on("error",()=>{});var S=async()=>{let{runAction:n}=await import("./action-XPCPCZUK.js");return n},p=await d(S(),r.signal);p===void 0&&(T(String(r.signal.reason)),process.exit(1));process.exitCode=await p.value(r)==="failed"?1:0;setTimeout(()=>process.exit(),1e3).unref();function T(n){let e=f(),s=(a,t)=>{try{m(e[a]??"",t)}catch{}};s("GITHUB_OUTPUT",`result=cancelled
reason=${n}
`),e.INPUT_SUMMARY!=="off"&&s("GITHUB_STEP_SUMMARY",`## agent-jobs: cancelled

${n}
`)}
