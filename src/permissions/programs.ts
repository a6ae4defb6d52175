/**
 * What is known of programs that people allow with an open `*`. Not a list of dangers, which is never whole:
 * a list of what is harmless. An option that is not in it has to be spelled out by a pattern. Data only.
 */
import type { Options } from "./command-options.ts";

export interface Program extends Options {
  /**
   * What the operands are: files to look at; a pattern and then files; a text; a file and then one that is
   * written; a script and then files; addresses; archives that are looked at.
   */
  readonly operands: "files" | "pattern" | "text" | "output" | "sed" | "awk" | "urls";
  /** Options that replace the pattern or script operand. */
  readonly instead?: string;
}

const grep: Program = {
  operands: "pattern",
  instead: "e f regexp",
  short: "EFGPivwxcoqsnHhbTUzlLaIyA:B:C:m:e:",
  long:
    "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match " +
    "word-regexp line-regexp count only-matching quiet silent no-messages line-number with-filename " +
    "no-filename byte-offset initial-tab null files-with-matches files-without-match text null-data " +
    "color colour after-context= before-context= context= max-count= regexp= label= line-buffered",
  numbers: true,
  risky: "rRf:d:D:",
};

const digest: Program = { operands: "files", short: "btz", long: "binary text zero tag" };

const awk: Program = { operands: "awk", short: "F:" };

export const programs: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["cat", { operands: "files", short: "AbeEnstTuv", long: "number show-all number-nonblank" }],
  ["tac", { operands: "files", short: "b" }],
  ["nl", { operands: "files", short: "b:h:f:i:l:n:s:v:w:p" }],
  ["rev", { operands: "files" }],
  ["head", { operands: "files", short: "n:c:qvz", long: "lines= bytes= quiet", numbers: true }],
  ["tail", { operands: "files", short: "n:c:qvz", long: "lines= bytes= quiet", numbers: true }],
  ["wc", { operands: "files", short: "clmLw", long: "bytes chars lines words max-line-length" }],
  [
    "ls",
    {
      operands: "files",
      short: "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZw:I:T:",
      long:
        "all almost-all human-readable recursive color reverse sort= time= directory classify inode size " +
        "full-time time-style= group-directories-first format= ignore= hide= no-group",
    },
  ],
  [
    "sort",
    {
      operands: "files",
      short: "bdfgiMhnRrVcCmsuzk:t:",
      long:
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort month-sort " +
        "human-numeric-sort numeric-sort reverse version-sort check stable unique zero-terminated key= " +
        "field-separator= merge sort=",
      risky: "o:T:S:",
    },
  ],
  [
    "uniq",
    {
      operands: "output",
      short: "cdDiuzf:s:w:",
      long: "count repeated all-repeated ignore-case unique skip-fields= skip-chars= check-chars=",
    },
  ],
  // By the first letter of a word alone: `-ac FILE` is `-a`, and FILE is no value. So no option with a value is known.
  ["xxd", { operands: "output", short: "abCEeipu" }],
  [
    "cut",
    {
      operands: "files",
      short: "b:c:d:f:nsz",
      long: "bytes= characters= delimiter= fields= complement only-delimited output-delimiter=",
    },
  ],
  ["paste", { operands: "files", short: "d:sz", long: "delimiters= serial" }],
  ["fold", { operands: "files", short: "bsw:" }],
  ["tr", { operands: "text", short: "cCdst", long: "complement delete squeeze-repeats" }],
  ["grep", grep],
  ["egrep", grep],
  ["fgrep", grep],
  [
    "rg",
    {
      operands: "pattern",
      instead: "e f regexp",
      short: "nNivwxlcoFPsSHIUA:B:C:e:t:T:g:m:M:r:",
      long:
        "line-number no-line-number ignore-case case-sensitive smart-case invert-match word-regexp " +
        "line-regexp files-with-matches files-without-match count count-matches only-matching " +
        "fixed-strings pcre2 multiline with-filename no-filename heading no-heading color= after-context= " +
        "before-context= context= regexp= type= type-not= glob= max-count= max-depth= max-columns= sort= " +
        "replace= json stats trim column vimgrep no-messages",
      risky: "uLzf:.",
    },
  ],
  [
    "find",
    {
      operands: "files",
      words: true,
      long:
        "name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= type= maxdepth= " +
        "mindepth= size= mtime= mmin= ctime= cmin= atime= amin= perm= user= group= links= empty print " +
        "print0 ls prune not o or a and readable writable executable xdev mount depth quit true false " +
        "printf= P",
    },
  ],
  [
    "fd",
    {
      operands: "pattern",
      short: "igsapE:e:t:d:0",
      long:
        "glob regex fixed-strings ignore-case case-sensitive absolute-path full-path exclude= extension= " +
        "type= max-depth= min-depth= print0 color= size=",
    },
  ],
  [
    "tree",
    {
      operands: "files",
      short: "adfipsughDFrtcUvnCSAQqNL:P:I:",
      long: "noreport dirsfirst du prune gitignore charset= filelimit= sort= matchdirs ignore-case",
    },
  ],
  [
    "sed",
    {
      operands: "sed",
      instead: "e f",
      short: "nErsuz",
      long: "quiet silent regexp-extended sandbox",
      risky: "i?e:f:l:",
    },
  ],
  ["awk", awk],
  ["gawk", awk],
  ["mawk", awk],
  [
    "diff",
    {
      operands: "files",
      short: "abBdEeiqsTtuwyZcU:C:W:",
      long:
        "unified context brief side-by-side report-identical-files text ignore-case ignore-all-space " +
        "ignore-blank-lines ignore-space-change ignore-trailing-space expand-tabs width= color " +
        "suppress-common-lines normal minimal strip-trailing-cr",
      risky: "r",
    },
  ],
  ["cmp", { operands: "files", short: "bln:s", long: "print-bytes verbose bytes= silent quiet" }],
  ["comm", { operands: "files", short: "123z", long: "total check-order nocheck-order" }],
  ["stat", { operands: "files", short: "c:t", long: "format= printf= terse" }],
  ["file", { operands: "files", short: "biN", long: "brief mime mime-type mime-encoding" }],
  [
    "du",
    {
      operands: "files",
      short: "0abchkmsSxd:",
      long: "all apparent-size bytes total max-depth= human-readable summarize one-file-system",
    },
  ],
  // In the table, because nothing of an archive but its list is shown and nothing is written.
  ["tar", { operands: "files", bundled: true, short: "tvzjJf=", long: "list verbose gzip" }],
  [
    "curl",
    {
      operands: "urls",
      short: "sSfLiIvgGm:",
      long:
        "silent show-error fail location include head verbose compressed max-time= connect-timeout= " +
        "retry= globoff",
    },
  ],
  ["md5sum", digest],
  ["sha1sum", digest],
  ["sha256sum", digest],
  ["sha512sum", digest],
  ["readlink", { operands: "files", short: "efmnqsvz" }],
  ["realpath", { operands: "files", short: "emLPqsz" }],
  ["basename", { operands: "text", short: "as:z" }],
  ["dirname", { operands: "text", short: "z" }],
  ["echo", { operands: "text", short: "neE" }],
  ["printf", { operands: "text" }],
  ["which", { operands: "text", short: "a" }],
  ["seq", { operands: "text", short: "f:s:w" }],
  ["sleep", { operands: "text" }],
  ["true", { operands: "text" }],
  ["false", { operands: "text" }],
]);
