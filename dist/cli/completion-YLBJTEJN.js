import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);
import"./chunk-YPU4RQQC.js";function completion(program,shell){let commands=[...describe(program)];if(shell==="fish")return fish(commands);let script=bash(commands);return shell==="bash"?script:`autoload -U +X bashcompinit && bashcompinit
${script}`}function*describe(parent,path=""){for(let command of parent.commands){let name=`${path}${command.name()}`,help=command.createHelp();for(let option of command.options)option.hidden=!1;let[first]=command.registeredArguments;yield{name,help:command.description(),options:help.visibleOptions(command),words:first?.argChoices??command.commands.map(one=>one.name()),takesEntry:first?.name()==="entry"},yield*describe(command,`${name} `)}}var names=String.raw`ls "$(git rev-parse --show-toplevel 2>/dev/null)/.github/agent-jobs" 2>/dev/null | sed -n -E '/\.(rehearsal|eval)\./d; s/^([A-Za-z0-9._-]+)\.(ya?ml|json|(wf|prompt)\.md)$/\1/p'`,flagsOf=({short,long})=>[short,long].filter(flag=>flag!==void 0);function bash(commands){let top=commands.filter(({name})=>!name.includes(" ")),reply=words=>`COMPREPLY=($(compgen -W "${words}" -- "$cur"))`,values=commands.flatMap(({name,options})=>{let pattern=option=>flagsOf(option).map(flag=>`"${name} ${flag}"`).join("|"),taking=options.filter(({required,optional})=>required||optional),free=taking.filter(({argChoices})=>argChoices===void 0).map(pattern);return[...taking.flatMap(option=>option.argChoices===void 0?[]:[`    ${pattern(option)}) ${reply(option.argChoices.join(" "))}; return ;;`]),...free.length===0?[]:[`    ${free.join("|")}) return ;;`]]}),cases=commands.map(({name,options,words,takesEntry})=>{let flags=options.flatMap(flagsOf).join(" "),first=takesEntry?`$(${names})`:`"${words.join(" ")}"`;return`    "${name}") flags="${flags}"; words=${first} ;;`}),nested=top.filter(({name})=>commands.some(one=>one.name.startsWith(`${name} `)));return`_agent_jobs() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" flags words
  local name="\${COMP_WORDS[1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${reply(top.map(({name})=>name).join(" "))}
    return
  fi
  case "$name" in
    ${nested.map(({name})=>name).join("|")}) [ "$COMP_CWORD" -gt 2 ] && name="$name \${COMP_WORDS[2]}" ;;
  esac
  case "$name $prev" in
${values.join(`
`)}
  esac
  case "$name" in
${cases.join(`
`)}
  esac
  case "$cur" in
    -*) ${reply("$flags")} ;;
    *) ${reply("$words")} ;;
  esac
}
complete -o default -F _agent_jobs agent-jobs`}function fish(commands){let line=(condition,...more)=>`complete -c agent-jobs -n ${quoted(condition)} ${more.join(" ")}`;return commands.flatMap(({name,help,options,words,takesEntry})=>{let[parent="",child]=name.split(" "),seen=one=>`__fish_seen_subcommand_from ${one}`,within=child===void 0?seen(parent):`${seen(parent)}; and ${seen(child)}`,start=child===void 0?"__fish_use_subcommand":seen(parent),first=takesEntry?`(${names})`:words.join(" ");return[line(start,"-f","-a",child??parent,"-d",quoted(help)),...first===""||child!==void 0?[]:[line(within,"-a",quoted(first))],...options.map(option=>{let{argChoices,required,optional,description}=option;return line(within,...flagsOf(option).map(flag=>flag.replace(/^--/,"-l ").replace(/^-(?=\w$)/,"-s ")),...required||optional?["-r"]:[],...argChoices===void 0?[]:["-f","-a",quoted(argChoices.join(" "))],"-d",quoted(description.replace(/(?<=\.) .*/s,"")))})]}).join(`
`)}function quoted(text){return`'${text.replaceAll(/[\\']/g,sign=>`\\${sign}`)}'`}export{completion};
