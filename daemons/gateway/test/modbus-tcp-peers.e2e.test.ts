/** Third-party Modbus TCP clients, on the real bundle. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { lineOf } from './modbus-tcp-rig.ts'
import { compileLibmodbus, noLibmodbus } from './peer/libmodbus.ts'

const run = promisify(execFile)
const noMbpoll = existsSync('/usr/bin/mbpoll') ? false : 'needs mbpoll'

t.test('mbpoll reads and writes a unit of the line over Modbus TCP', { skip: noMbpoll }, async (t) => {
  const { tcpPort, view } = await lineOf(t)
  const mbpoll = async (...args: string[]) =>
    (await run('mbpoll', ['-m', 'tcp', '-p', String(tcpPort), '-0', '-1', '-o', '5', ...args])).stdout
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '10', '-c', '3', '127.0.0.1'), /210[\s\S]*211[\s\S]*212/)
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '20', '127.0.0.1', '4711'), /Written 1 references/)
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '20', '-c', '1', '127.0.0.1'), /4711/)
  t.match(await mbpoll('-a', '2', '-t', '0', '-r', '3', '127.0.0.1', '1', '1'), /Written 2 references/)
  t.match(
    await mbpoll('-a', '2', '-t', '0', '-r', '2', '-c', '4', '127.0.0.1'),
    /\[2\]:\s+0[\s\S]*\[3\]:\s+1[\s\S]*\[4\]:\s+1/,
  )
  await t.rejects(mbpoll('-a', '2', '-t', '4', '-r', '500', '127.0.0.1'), /Illegal data address/)
  t.match((await view()).counters, { tcpClients: 0, tcpRequests: 6, tcpWrites: 2 })
})

t.test('libmodbus and REST at once each get their own values', { skip: noLibmodbus }, async (t) => {
  const { ask, tcpPort, view } = await lineOf(t, { units: [1, 2, 3], settings: { gap_us: 100 } })
  const client = await compileLibmodbus(t, 'libmodbus-client')
  const clients = Promise.all(
    [1, 2].map((unit) => run(client, [String(tcpPort), String(unit), '100']).catch((error) => error)),
  )
  let isDone = false
  const rest = (async () => {
    let asked = 0
    for (; !isDone; asked++) {
      const address = asked % 50
      const answer = await ask({ unitId: 3, fc: 3, address, quantity: 4 })
      const wanted = Array.from({ length: 4 }, (_, n) => 300 + address + n)
      if (answer.status !== 200 || `${answer.body.values}` !== `${wanted}`)
        return `request ${asked}: ${answer.status} ${JSON.stringify(answer.body)}`
    }
    return asked
  })()
  const told = await clients
  isDone = true
  t.strictSame(
    told.map(({ stdout }) => stdout),
    ['all right\n', 'all right\n'],
  )
  t.ok(Number(await rest) > 10, `REST was right ${await rest} times meanwhile`)
  t.match((await view()).counters, { timeouts: 0, crcErrors: 0, tcpClients: 0 })
})
