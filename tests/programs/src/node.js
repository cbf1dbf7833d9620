// Native code, compiled JavaScript, the thread pool and an event loop over sockets:  node.js ROUNDS
const crypto = require('crypto');
const net = require('net');
const rounds = Number(process.argv[2]);

function primes(limit) {
  const sieve = new Uint8Array(limit);
  let count = 0;
  for (let i = 2; i < limit; i++) {
    if (sieve[i]) continue;
    count++;
    for (let k = i * i; k < limit; k += i) sieve[k] = 1;
  }
  return count;
}

function mix(text) {
  let h = 0;
  for (let i = 0; i < text.length; i++) h = (Math.imul(h, 31) + text.charCodeAt(i)) | 0;
  return h;
}

async function main() {
  let sum = 0;
  const hash = crypto.createHash('sha512');
  for (let i = 0; i < rounds; i++) {
    sum += primes(60000) + mix(`round ${i} `.repeat(5000));
    hash.update(Buffer.alloc(200000, i));
  }
  const keys = await Promise.all([1, 2, 3, 4].map((n) => new Promise((done) =>
    crypto.pbkdf2('word', `salt${n}`, rounds * 300, 32, 'sha512', (error, key) => done(key.toString('hex'))))));
  const server = net.createServer((socket) => socket.on('data', (data) => socket.write(String(mix(String(data))))));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const client = net.connect(server.address().port, '127.0.0.1');
  const answers = [];
  for (let i = 0; i < rounds * 20; i++) {
    client.write(`request ${i}`);
    answers.push(await new Promise((done) => client.once('data', (data) => done(String(data)))));
  }
  client.end();
  server.close();
  console.log(sum, hash.digest('hex'), keys.join(' '), mix(answers.join(' ')));
}

main();
