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
section,.section,.headline,#late{min-width:0;background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1rem 1.25rem}
h2{font-size:1rem;font-weight:650;margin-bottom:.5rem}summary h2{display:inline}
h3{font-size:1rem;font-weight:600}
.note,footer p{color:var(--muted);font-size:.875rem}
code,pre,.id{font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.9em}
#late{max-width:70rem;margin:0 auto 1rem;font-weight:600}
.headline{display:grid;grid-template-columns:2.5rem minmax(0,1fr);gap:0 1rem;align-items:start;border-color:transparent}
.headline>*{grid-column:2;margin-top:.375rem}.headline>p,.headline>ul{max-width:52rem}
.headline>svg{grid-column:1;grid-row:1;margin:0;width:2.5rem;height:2.5rem;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.headline h1{font-size:1.75rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;margin-top:.125rem}
.headline h1.long{font-size:1.25rem;line-height:1.4;letter-spacing:0}
.headline.also{grid-template-columns:1.5rem minmax(0,1fr)}.headline.also>svg{width:1.5rem;height:1.5rem}
.headline.also h2{margin:0}.headline .note{color:inherit}
.good{color:var(--good)}.idle{color:var(--idle)}.busy{color:var(--busy)}.attention{color:var(--attention)}.bad{color:var(--bad)}
.headline.good{background:var(--good-tint)}.headline.idle{background:var(--idle-tint)}.headline.busy{background:var(--busy-tint)}
.headline.attention{background:var(--attention-tint)}.headline.bad{background:var(--bad-tint)}
dt,dl>div>.note{color:var(--muted);font-size:.875rem}
.strip{display:grid;grid-template-columns:repeat(auto-fill,minmax(14rem,1fr));gap:.75rem 1.5rem}
.strip>div{padding-left:1.5rem;position:relative}.strip dd{line-height:1.35}.strip .exact{display:none}.strip .good>dd:not(.note){color:var(--text)}
.strip>div::before{position:absolute;left:0;font-weight:700;content:"?"}
.strip>.good::before{content:"✓"}.strip>.bad::before{content:"✕"}.strip>.attention::before{content:"!"}
.bad>dd:not(.note),.attention>dd:not(.note){font-weight:600}
.facts>div{display:grid;grid-template-columns:12rem minmax(0,1fr);gap:0 1rem;align-items:baseline;padding:.125rem 0}
.facts dd{grid-column:2}
.hours{display:flex;gap:2px;list-style:none;padding:0;margin:.75rem 0 .25rem}
.hours li{flex:1;min-width:0;height:2rem;border-radius:.2rem;text-align:center;line-height:2rem;font-weight:700;overflow:hidden;color:var(--card);position:relative}
.hours .ok{background:var(--good)}.hours .none{border:1px dashed var(--muted);color:var(--text)}
.hours .partial{background:var(--attention)}.hours .partial::before{content:"!"}
.hours .failed{background:var(--bad)}.hours .failed::before{content:"✕"}
.hours .partial{border-radius:0 0 1rem 1rem}.hours .failed{border-radius:0}
progress{display:block;width:100%;height:.625rem;margin-top:.5rem;appearance:none;-webkit-appearance:none;border:0;border-radius:1rem;overflow:hidden;background:var(--busy-tint)}
progress::-webkit-progress-bar{background:var(--busy-tint)}progress::-webkit-progress-value{background:var(--busy)}progress::-moz-progress-bar{background:var(--busy)}
.copied{display:flex;gap:.5rem;align-items:start;max-width:52rem;color:var(--text)}
pre{flex:1;min-width:0;background:var(--code);border:1px solid var(--line);border-radius:.5rem;padding:.375rem .75rem;white-space:pre-wrap}
pre code{user-select:all;-webkit-user-select:all}
button.copy{display:none}.scripted button.copy{display:block}
ul{list-style:none;padding:0}.incident li{padding:.375rem 0}.incident li+li{border-top:1px solid currentColor}
summary{cursor:pointer;min-height:1.5rem}
a{color:inherit;text-underline-offset:.15em;display:inline-block;min-width:1.5rem;min-height:1.5rem;max-width:100%}
.name{font-size:.875rem;overflow-wrap:anywhere}.code{font-weight:600;font-size:.875rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-100vw}.skip:focus{left:1rem;top:.25rem;background:var(--card);padding:.25rem .5rem}
main:focus{outline:none}
@media (max-width:40rem){header{padding-top:.75rem;padding-bottom:.75rem}main{gap:.75rem}label{position:absolute;clip-path:inset(50%)}section,.section,.headline{padding:.75rem 1rem}
.headline:not(.also){grid-template-columns:2rem minmax(0,1fr);gap:0 .75rem}.headline>svg{width:2rem;height:2rem}
.headline h1{font-size:1.375rem}.headline h1.long{font-size:1.125rem}
.strip{gap:.375rem}.strip>div{display:grid;grid-template-columns:6.5rem minmax(0,1fr);gap:0 .5rem;align-items:baseline}.strip dd{grid-column:2}
.facts>div{grid-template-columns:minmax(0,1fr);padding:.25rem 0}.facts dd{grid-column:1}pre{font-size:.875rem}}
:focus-visible{outline:2px solid var(--busy);outline-offset:2px}
@media print{body{background:none}section,.headline{break-inside:avoid}}
`;
