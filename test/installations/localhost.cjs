// Loaded by `node --require`: "localhost" is the address in LOCALHOST. So two programs on one machine have servers of
// their own under one name, as on two machines.
const dns = require("node:dns");

const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(name === "localhost" ? process.env.LOCALHOST : name, ...rest);
