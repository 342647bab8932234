/** The pages' whole style sheet. It is part of each page. */
export const STYLE = `
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--text:#1a1f26;--muted:#56606c;--line:#dce1e7;--code:#eef1f5;
--good:#17693f;--good-tint:#e3f3ea;--idle:#3d4753;--idle-tint:#e9ecf0;--busy:#0b4f9c;--busy-tint:#e4effb;
--attention:#6d4a00;--attention-tint:#fcf0d4;--bad:#96160f;--bad-tint:#fce6e4;}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--card:#151b23;--text:#e6ebf1;--muted:#9ca7b3;--line:#2b333d;--code:#0d1117;
--good:#7fdcaa;--good-tint:#10291d;--idle:#c0c9d3;--idle-tint:#1d242d;--busy:#93c4ff;--busy-tint:#10253f;
--attention:#f0cb6b;--attention-tint:#2f2610;--bad:#ffa9a1;--bad-tint:#381717;}}
*{box-sizing:border-box;margin:0}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{background:var(--page);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1rem}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem .75rem;padding-top:1.5rem;padding-bottom:1rem}
header p{color:var(--muted)}header .product{color:var(--text);font-weight:700;letter-spacing:-.01em;font-size:1.125rem}header .zone{margin-left:auto}
form{display:flex;flex:1 0 100%;flex-wrap:wrap;gap:.5rem .75rem;align-items:center;margin-top:.5rem}
label{color:var(--muted);font-size:.875rem}
input,button{font:inherit;color:inherit;background:var(--card);border:1px solid var(--muted);border-radius:.5rem;padding:.375rem .75rem}
input{flex:1 1 12rem;min-width:0;max-width:28rem}button{cursor:pointer}::placeholder{color:var(--muted);opacity:1}
footer{padding-top:.5rem;padding-bottom:2.5rem}
main{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem}
section,.headline{min-width:0;background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.25rem}
h2{font-size:1rem;font-weight:650;margin-bottom:.75rem}
h3{font-size:1rem;font-weight:600}
small,.note,footer p{color:var(--muted);font-size:.875rem}
time small{display:block}time span,.more code{white-space:nowrap}
code,pre{font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.9em}
.headline{display:grid;grid-template-columns:2.5rem 1fr;gap:0 1rem;align-items:start;border-color:transparent;padding:1.5rem 1.25rem}
.headline svg{width:2.5rem;height:2.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.headline h1{font-size:1.75rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;padding-top:.125rem}
.headline.also{grid-template-columns:1.5rem 1fr;padding:1rem 1.25rem}.headline.also svg{width:1.5rem;height:1.5rem}
.headline h2{line-height:1.5;font-weight:600;margin:0}
.headline h1.long{font-size:1.25rem;line-height:1.4;letter-spacing:0;padding-top:.3rem}
.headline p{grid-column:2;margin-top:.375rem;max-width:46rem}
.good{color:var(--good)}.idle{color:var(--idle)}.busy{color:var(--busy)}.attention{color:var(--attention)}.bad{color:var(--bad)}
.headline.good{background:var(--good-tint)}.headline.idle{background:var(--idle-tint)}.headline.busy{background:var(--busy-tint)}
.headline.attention{background:var(--attention-tint)}.headline.bad{background:var(--bad-tint)}
.count{font-weight:400;color:var(--muted);margin-left:.25rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(16rem,100%),1fr));gap:1.25rem 2rem}
dt{color:var(--muted);font-size:.875rem}
.tiles dd{font-size:1.25rem;line-height:1.35}.tiles dd.note{font-size:.875rem;line-height:1.5;margin-top:.25rem}
.outcome,.tiles .bad{font-weight:600}.outcome.ok{color:var(--good)}.outcome.partial,.outcome.held{color:var(--attention)}.outcome.failed{color:var(--bad)}
.numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(8.5rem,40%),1fr));gap:1rem;margin-bottom:.75rem}
.numbers div{display:flex;flex-direction:column-reverse}.numbers dd{font-size:1.75rem;line-height:1.2;letter-spacing:-.02em}
.numbers .bad dt{color:inherit}.numbers .bad dd{font-weight:650}
progress{display:block;width:100%;height:.625rem;margin-bottom:.5rem;appearance:none;-webkit-appearance:none;border:0;border-radius:1rem;overflow:hidden;background:var(--busy-tint)}
progress::-webkit-progress-bar{background:var(--busy-tint)}progress::-webkit-progress-value{background:var(--busy)}progress::-moz-progress-bar{background:var(--busy)}
pre{background:var(--code);border:1px solid var(--line);border-radius:.5rem;padding:.75rem 1rem;margin:.5rem 0;white-space:pre-wrap}
pre code{user-select:all;-webkit-user-select:all}
ul{list-style:none;padding:0}
.incident li{padding:.75rem 0;border-top:1px solid var(--line)}
.incident li:not(:has(h3)){padding:.0625rem 0;border:0}.incident li:first-child{border-top:0;padding-top:0}.incident li:last-child{padding-bottom:0}
a{color:inherit;text-underline-offset:.15em}h3 bdi,.name{overflow-wrap:anywhere}
.id{display:inline-block;max-width:100%;font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;text-decoration-color:var(--muted)}
.name{color:var(--muted);font-weight:400;font-size:.875rem}strong.attention{font-weight:600}
.facts li{padding:.25rem 0}.fact{display:grid;grid-template-columns:12rem minmax(0,1fr);gap:0 1rem;align-items:baseline}
.fact>:first-child{color:var(--muted);font-size:.875rem}.facts code{font-size:.9em}
.code{font-weight:600;font-size:.875rem;color:var(--bad)}
.about{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(16rem,100%),1fr));gap:.75rem 2rem}
@media (max-width:40rem){label,header .zone{flex:1 0 100%;margin:0}.fact{grid-template-columns:minmax(0,1fr)}.fact+.fact{margin-top:.25rem}.headline:not(.also){grid-template-columns:2rem 1fr;gap:0 .75rem;padding:1.25rem}.headline:not(.also) svg{width:2rem;height:2rem}
.headline h1{font-size:1.375rem}.headline h1.long{font-size:1.125rem}section{padding:1rem 1.25rem}
.about div{display:grid;grid-template-columns:7.5rem minmax(0,1fr);gap:.75rem;align-items:baseline}pre{font-size:.875rem}}
:focus-visible{outline:2px solid var(--busy);outline-offset:2px}
@media print{body{background:none}section,.headline{break-inside:avoid}}
`;
