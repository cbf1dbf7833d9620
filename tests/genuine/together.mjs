// Runs several of these checks in one process, with one trace processor.
//
//   node together.mjs PROGRAM ARGUMENT... [-- PROGRAM ARGUMENT...]...     PROGRAM: a file beside this one
//
// Prints what they print: lines `ok NAME` and `FAIL NAME: ...`. Exit status 1 when a check failed, or a program did not
// check anything.
const words = process.argv.slice(2), print = console.log;
while (words.length) {
  const end = words.indexOf('--');
  const [program, ...args] = words.splice(0, end < 0 ? words.length : end);
  words.shift();
  let lines = 0;
  console.log = (line) => { lines++; print(line); };
  process.argv = [process.argv[0], program, ...args];
  try {
    await import(`./${program}`);
  } catch (error) {
    print(`FAIL ${program}: ${error.message}`);
    process.exitCode = 1;
  }
  if (!lines) {
    print(`FAIL ${program}: has checked nothing`);
    process.exitCode = 1;
  }
}
