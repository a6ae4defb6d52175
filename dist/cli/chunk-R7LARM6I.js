import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import{unicodeEscape}from"./chunk-OTBKYO47.js";import{existsSync,readFileSync}from"node:fs";import{dirname,join}from"node:path";import{fileURLToPath}from"node:url";var MAX_DEPTH=5;function findPageFiles(from=dirname(fileURLToPath(import.meta.url))){let folder=from;for(let depth=0;depth<MAX_DEPTH;depth++){for(let place of[join(folder,"web"),join(folder,"dist","web")]){let[script,style]=[join(place,"page.js"),join(place,"page.css")];if(existsSync(script)&&existsSync(style))return{script:readFileSync(script,"utf8"),style:readFileSync(style,"utf8")}}folder=dirname(folder)}}var portalPolicy=["default-src 'none'","script-src 'self'","style-src 'self' 'unsafe-inline'","connect-src 'self'","img-src data:","font-src 'none'","frame-ancestors 'none'","base-uri 'none'","form-action 'none'"].join("; ");function portalHtml(facts){return pageHtml({title:"agent-jobs",head:`<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>`,boot:{kind:"portal",...facts}})}var icon=`data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4a3fd0"/><path d="M4.5 8.5l2.5 2.5 4.8-5.5" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>')}`;function pageHtml(page){return[...pageParts(page)].join("")}function*pageParts({boot,plain="This page needs JavaScript.",data=[],...page}){let start=`<div id="app"></div>
<noscript>${plain}</noscript>
<script type="application/json" id="boot">${jsonInHtml(boot)}</script>
`;yield*htmlDocument({...page,body:[start]},data)}function*htmlDocument(page,data=[]){yield`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="${icon}">
<title>${escapeHtml(page.title)}</title>
${page.head}
</head>
<body>
`,yield*page.body,yield*data,yield`</body>
</html>
`}function policyAndStyle(scripts,style){if(/<\/style/i.test(style))throw new Error("The style of the page contains a tag.");return`<meta http-equiv="Content-Security-Policy" content="${`default-src 'none'; ${scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`}">
<style>
${style}
</style>`}function jsonInHtml(value){return JSON.stringify(value).replace(/[<>&#\u2028\u2029]/g,unicodeEscape)}function escapeHtml(text){return text.replace(/[&<>"'#\r\n]/g,character=>`&#${character.charCodeAt(0)};`)}export{findPageFiles,portalPolicy,portalHtml,pageParts,htmlDocument,policyAndStyle,escapeHtml};
