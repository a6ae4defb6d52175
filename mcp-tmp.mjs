let last=performance.now(), cpu0=process.cpuUsage(); const out=[]; setInterval(()=>{const n=performance.now();const c=process.cpuUsage(cpu0); if(n-last>15) out.push([(n-last)|0,((c.user+c.system)/1000)|0]); last=n; cpu0=process.cpuUsage();},1).unref();
const step=async(l,f)=>{await new Promise(r=>setTimeout(r,20)); out.length=0; last=performance.now();cpu0=process.cpuUsage(); await f(); await new Promise(r=>setTimeout(r,20)); console.log(l,JSON.stringify(out))};
let m; await step("import",async()=>{m=await import("@modelcontextprotocol/client")});
await step("preload",()=>{m.preloadSchemas()});
await step("deserialize",()=>{m.deserializeMessage('{"jsonrpc":"2.0","method":"x"}')});
