/** A board and python-zeroconf, a third-party program, on their own network. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeNetwork, noNetworkBecause } from './network.ts'
import { boardOn, took, within } from './network-board.ts'

const hasZeroconf = existsSync('/usr/lib/python3/dist-packages/zeroconf')
const skip = noNetworkBecause() ?? (hasZeroconf ? false : 'python3-zeroconf is not installed')

t.test('B.peers python-zeroconf and a board see each other', { skip }, async (t) => {
  const network = makeNetwork(t)
  const board = await boardOn(t, network.machine('10.77.0.1'))
  const machine = network.machine('10.77.0.9')
  const script = join(import.meta.dirname, 'peer/zeroconf-board.py')
  const [program = '', ...before] = machine.within
  const stranger = spawn(program, [...before, '/usr/bin/python3', script, machine.address])
  t.teardown(() => stranger.kill('SIGKILL'))
  let output = ''
  for (const stream of [stranger.stdout, stranger.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  const seen = async () => (await board.others()).some(({ name }) => name === 'Stranger')
  within(t, 10_000, await took(15_000, seen), 'the stranger is seen')
  t.match(await board.others(), [
    { hostname: 'stranger', IP: '10.77.0.9', port: 8080, role: 'usbip', version: '9.9.9', state: 'alive' },
  ])
  within(
    t,
    10_000,
    await took(15_000, async () => /came board-\w+\._plantroom\._tcp\.local\./.test(output)),
    'the board is seen',
  )
  t.match(
    output,
    /\['10\.77\.0\.1', 'fe80::[0-9a-f:]+'\] \S+\.local\. 80 \{'role': 'serial', 'name': '.+', 'version': '\d.+', 'path': '\/'\}/,
  )
  await board.stop()
  within(t, 5000, await took(8000, async () => output.includes('went board-')), 'the board takes leave')
  stranger.stdin.end()
})
