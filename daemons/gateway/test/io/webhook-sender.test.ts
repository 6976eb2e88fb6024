import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { LookupFunction, Socket } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { lookupSafely } from '#kit/net/target.ts'
import { rowOf } from '#kit/test/heap.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { memoryPlan } from '../../core/memory.ts'
import { never, refusingUrl, requestTo, selfSigned, senderFor, startRawTarget, startTarget } from './webhook-targets.ts'

t.test('A.webhooks.2 sends a POST with the headers of the document, those configured, and no others', async (t) => {
  const target = await startTarget(t)
  const request = requestTo(target.url, { headers: { Authorization: 'Basic dXNlcjpwdw==' } })
  const answer = await senderFor(t).send(request, never)
  await answer.done
  t.equal(answer.status, 200)
  const [received] = target.received
  t.match(received, { method: 'POST', path: '/hook' })
  t.same(received?.body, Buffer.from(request.body))
  t.same(received?.headers, {
    host: `127.0.0.1:${target.port}`,
    connection: 'keep-alive',
    authorization: 'Basic dXNlcjpwdw==',
    'content-type': 'application/json',
    'content-length': String(request.body.byteLength),
    'x-svc-port': '/dev/ttyUSB0',
    'x-svc-event': 'frame',
  })
  t.match(received?.rawHeaders.join(' '), /X-Svc-Port .*X-Svc-Event /)
})

t.test('A.webhooks.3 openssl finds the same digest over the bytes that arrived', async (t) => {
  const target = await startTarget(t)
  const sender = senderFor(t)
  for (const secret of ['s3cret', 'schlüssel with spaces', '$(x)']) {
    await (await sender.send(requestTo(target.url, { secret }), never)).done
    const received = target.received.at(-1)
    const openssl = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${Buffer.from(secret).toString('hex')}`]
    const digest = String(execFileSync('openssl', [...openssl, '-hex'], { input: received?.body })).trim()
    t.equal(received?.headers['x-svc-signature'], `sha256=${digest.split('= ')[1]}`)
  }
  const plain = execFileSync('openssl', ['dgst', '-sha256', '-hmac', '$(x)'], { input: target.received[2]?.body })
  t.match(String(plain), String(target.received[2]?.headers['x-svc-signature']).slice('sha256='.length))
})

t.test('A.webhooks.2 a webhook without a secret is not signed', async (t) => {
  const target = await startTarget(t)
  await (await senderFor(t).send(requestTo(target.url), never)).done
  t.notHas(target.received[0]?.headers, 'x-svc-signature')
})

t.test('a port or event name that no header can carry is encoded, not sent as a second header', async (t) => {
  const target = await startTarget(t)
  const request = requestTo(target.url, { port: '/dev/tty\r\nX-Evil: 1', event: 'ä' })
  await (await senderFor(t).send(request, never)).done
  t.match(target.received[0]?.headers, { 'x-svc-port': '/dev/tty%0D%0AX-Evil:%201' })
  t.notHas(target.received[0]?.headers, 'x-evil')
  t.equal(Buffer.from(String(target.received[0]?.headers['x-svc-event']), 'latin1').toString('utf8'), 'ä')
})

t.test('reports any status, and follows no redirect', async (t) => {
  const elsewhere = await startTarget(t)
  for (const status of [204, 301, 302, 307, 308, 404, 500, 503]) {
    const target = await startTarget(t, (_received, answer) =>
      answer.writeHead(status, { location: elsewhere.url }).end(),
    )
    const answer = await senderFor(t).send(requestTo(target.url), never)
    await answer.done
    t.equal(answer.status, status)
  }
  t.same(elsewhere.received, [])
})

t.test('says why a target cannot be reached', async (t) => {
  const sender = senderFor(t)
  const url = await refusingUrl()
  await t.rejects(sender.send(requestTo(url), never), { code: 'webhook_unreachable', message: /ECONNREFUSED/ })
  const byName = url.replace('127.0.0.1', 'localhost')
  await t.rejects(sender.send(requestTo(byName), never), { code: 'webhook_unreachable', message: /ECONNREFUSED/ })
})

t.test('a connection that is reset, is closed or answers without HTTP is a fault', async (t) => {
  const deeds: ((socket: Socket) => void)[] = [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
    (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  ]
  for (const deed of deeds) {
    const target = await startRawTarget(t, (socket) => socket.once('data', () => deed(socket)))
    await t.rejects(senderFor(t).send(requestTo(target.url), never), { code: 'webhook_unreachable' }, String(deed))
  }
})

t.test('closes the connection when its time is over', async (t) => {
  const stop = new AbortController()
  const { promise: isClosed, resolve } = Promise.withResolvers<void>()
  const target = await startTarget(t, ({ socket }) => {
    socket.on('close', () => resolve())
    stop.abort()
  })
  await t.rejects(senderFor(t).send(requestTo(target.url), stop.signal), { code: 'webhook_unreachable' })
  await isClosed
})

t.test('an aborted signal sends nothing', async (t) => {
  const target = await startTarget(t)
  await t.rejects(senderFor(t).send(requestTo(target.url), AbortSignal.abort()))
  t.same(target.received, [])
})

t.test('a body that never ends is cut by the signal, and the status stands', async (t) => {
  const stop = new AbortController()
  const target = await startTarget(t, (_received, answer) => void answer.writeHead(200).write('never'))
  const answer = await senderFor(t).send(requestTo(target.url), stop.signal)
  t.equal(answer.status, 200)
  stop.abort()
  await answer.done
})

t.test('a body that breaks off does not change the status', async (t) => {
  const target = await startRawTarget(t, (socket) =>
    socket.once('data', () => socket.write('HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\nx', () => socket.destroy())),
  )
  const answer = await senderFor(t).send(requestTo(target.url), never)
  await answer.done
  t.equal(answer.status, 202)
})

t.test('reads a huge answer up to its bound and cuts it there', async (t) => {
  let written = 0
  const { promise: isClosed, resolve } = Promise.withResolvers<void>()
  const target = await startTarget(t, ({ socket }, answer) => {
    socket.on('close', () => resolve())
    const chunk = Buffer.alloc(65_536)
    const more = () => {
      while (!socket.destroyed && answer.write(chunk)) written += chunk.length
    }
    answer.on('drain', more)
    more()
  })
  const answer = await senderFor(t, { responseBytes: 1000 }).send(requestTo(target.url), never)
  await Promise.all([answer.done, isClosed])
  t.equal(answer.status, 200)
  t.ok(written < 64 * 1024 * 1024)
})

t.test('keeps its connection for the next event, and takes another when a fresh one is asked for', async (t) => {
  const target = await startTarget(t)
  const sender = senderFor(t)
  for (const isFresh of [false, false, true]) {
    await (await sender.send(requestTo(target.url, { isFresh }), never)).done
    await new Promise((resolve) => setImmediate(resolve))
  }
  const [first, second, third] = target.received.map(({ socket }) => socket)
  t.equal(first, second)
  t.not(third, first)
  t.equal(target.received[2]?.headers.connection, 'close')
})

t.test('keeps no connection if webhooks.idle_ms is 0', async (t) => {
  const target = await startTarget(t)
  await (await senderFor(t, { idleMs: 0 }).send(requestTo(target.url), never)).done
  t.equal(target.received[0]?.headers.connection, 'close')
})

t.test('closing closes the connections that are kept', async (t) => {
  const target = await startTarget(t)
  const sender = senderFor(t)
  await (await sender.send(requestTo(target.url), never)).done
  const socket = target.received[0]?.socket
  const isClosed = socket && once(socket, 'close')
  sender.close()
  await isClosed
})

t.test('does not connect to an address that is no longer allowed, however old the webhook is', async (t) => {
  for (const url of ['http://169.254.169.254/', 'http://[::ffff:a9fe:a9fe]/', 'http://2852039166/', 'http://0.0.0.0/'])
    await t.rejects(senderFor(t).send(requestTo(url), never), { code: 'bad_target' }, url)
})

t.test('does not connect to a name that resolves to the metadata address', async (t) => {
  const lookup: LookupFunction = (_name, options, callback) => lookupSafely('169.254.169.254', options, callback)
  const sender = senderFor(t, { lookup })
  for (const isFresh of [false, true])
    await t.rejects(sender.send(requestTo('http://rebound.example/', { isFresh }), never), { code: 'bad_target' })
})

t.test('refuses a self-signed certificate, and one of another name, and says what to do', async (t) => {
  const { tls, certFile } = selfSigned(t, 'DNS:other.example')
  const target = await startTarget(t, undefined, tls)
  for (const isFresh of [false, true]) {
    const sent = senderFor(t).send(requestTo(target.url, { isFresh }), never)
    const { code, message } = await sent.then(
      () => t.fail('it was sent') as never,
      (error) => error,
    )
    t.equal(code, 'webhook_unreachable')
    t.match(message, /self-signed, in webhooks\.ca_file, and restart/)
    t.notMatch(message, /--|Node/, 'the message names no flag of Node')
  }
  const sent = senderFor(t, { caFile: certFile }).send(requestTo(target.url), never)
  await t.rejects(sent, { code: 'webhook_unreachable', message: /other names \(DNS:other\.example\)/ })
  t.same(target.received, [])
})

t.test('trusts the authorities of webhooks.ca_file', async (t) => {
  const { tls, certFile } = selfSigned(t)
  const target = await startTarget(t, undefined, tls)
  const sender = senderFor(t, { caFile: certFile })
  for (const isFresh of [false, true]) {
    const answer = await sender.send(requestTo(target.url, { isFresh }), never)
    await answer.done
    t.equal(answer.status, 200)
  }
})

t.test('refuses a ca_file that is missing or holds no certificate', async (t) => {
  const empty = join(t.testdir({}), 'empty.pem')
  writeFileSync(empty, 'no certificate')
  for (const caFile of ['/nonexistent/ca.pem', empty])
    t.throws(() => senderFor(t, { caFile }), { code: 'ca_file_unreadable' })
})

t.test('one delivery under way to each possible target, with TLS, takes no more than its row says', async (t) => {
  const { certFile } = selfSigned(t)
  const keyFile = join(dirname(certFile), 'key.pem')
  const script = join(import.meta.dirname, 'webhook-target-child.ts')
  // In another process, so that its memory is not counted.
  const target = spawn(process.execPath, [script, keyFile, certFile], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => target.kill('SIGKILL'))
  let said = ''
  target.stdout.setEncoding('utf8').on('data', (part: string) => (said += part))
  await until('the target listens', () => /port \d+\n/.test(said))
  const url = `https://127.0.0.1:${/port (\d+)/.exec(said)?.[1]}/hook`
  const sender = senderFor(t, { caFile: certFile })
  const stopper = new AbortController()
  const sent: Promise<unknown>[] = []
  async function send(goal: number): Promise<void> {
    while (sent.length < goal) {
      const body = new Uint8Array(16_384).fill(sent.length)
      sent.push(sender.send(requestTo(url, { body, secret: 's' }), stopper.signal).catch(() => {}))
    }
    await until(`${goal} are under way`, () => said.includes(`taken ${goal}\n`))
  }
  const first = 8
  await send(first)
  const beforeMb = residentMb(process.pid)
  const { allBytes, eachBytes } = rowOf(memoryPlan().rows, 'deliveries', { 'webhooks.total': 128 })
  await send(first + 128)
  const bytes = (residentMb(process.pid) - beforeMb) * 1e6
  t.ok(bytes < allBytes, `${bytes / 128} bytes a delivery, of ${eachBytes} with what the kernel has`)
  stopper.abort()
  await Promise.all(sent)
})
