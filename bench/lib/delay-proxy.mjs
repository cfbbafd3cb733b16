// A way that takes time: passes bytes on after some milliseconds, in both directions. A process of its own.
// In: three arguments: the port to listen on, the port behind it, milliseconds each way. Out: connections.
import net from 'node:net';

const [port, target, delayMs] = process.argv.slice(2).map(Number);

/** Timers of one length run in the order in which they were set. */
function passOn(from, to) {
  const later = work => setTimeout(() => work(), delayMs);
  from.on('data', chunk => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => later(() => to.destroy()));
}

net
  .createServer({ noDelay: true }, socket => {
    const behind = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
    passOn(socket, behind);
    passOn(behind, socket);
  })
  .listen(port, '127.0.0.1');
