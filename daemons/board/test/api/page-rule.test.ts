/** Tests of api/door.ts. */
import t from 'tap'
import { createPageRule } from '../../api/door.ts'

const FOUND = 'http://10.0.0.7:8080'

const rule = createPageRule({
  hostnames: () => ['Lobby'],
  hosts: ['audio.plant.example'],
  addresses: () => ['10.0.0.5', 'fd00::5'],
  port: () => 8080,
  isFoundOrigin: (origin) => origin === FOUND,
})

t.test('accepts an address, its name, its .local name, localhost and configured names', async (t) => {
  const own = ['10.9.9.9', '[fd00::1]:80', '[fe80::1%eth0]', 'lobby', 'LOBBY:8080', 'lobby.local', 'Lobby.local.:80']
  for (const host of [...own, 'localhost', 'audio.plant.example:443']) t.equal(rule.takesHost(host), true, host)
  const foreign = [
    undefined,
    '',
    'lobby.evil.example',
    'x.lobby.local',
    'lobby.local.evil.example',
    'lobbyx',
    'plant.example',
  ]
  for (const host of [...foreign, 'lobby@evil.example', 'evil.example#lobby'])
    t.equal(rule.takesHost(host), false, String(host))
})

t.test('B.auth.2 accepts pages of found boards, and its own under each of its names', async (t) => {
  for (const host of ['10.0.0.5', '[fd00::5]', 'lobby', 'lobby.local', 'lobby.local.', 'audio.plant.example'])
    t.equal(rule.takesOrigin(`http://${host}:8080`), true, host)
  t.equal(rule.takesOrigin(FOUND), true)
})

t.test(
  'B.auth.2 accepts no other page: not one on another port, of the reader, or of a name like its own',
  async (t) => {
    for (const origin of [
      'http://10.0.0.5',
      'http://10.0.0.5:8081',
      'http://10.0.0.6:8080',
      'http://10.0.0.7',
      'http://localhost:8080',
      'http://127.0.0.1:8080',
      'http://lobby.evil.example:8080',
      'http://evil.example:8080',
      'http://lobby.local.evil.example:8080',
      'null',
    ])
      t.equal(rule.takesOrigin(origin), false, origin)
  },
)
