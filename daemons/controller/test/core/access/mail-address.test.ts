import t from 'tap'
import { isMailAddress } from '../../../core/access/sign-in.ts'

const shown = (value: unknown) =>
  String(JSON.stringify(value))
    .slice(0, 60)
    .replace(/[^ -~]/g, '?')

for (const address of [
  'ada@example.org',
  "o'neil+door@sub.example.org",
  'root@localhost',
  'jürgen@bücher.example',
  'a@1',
])
  t.test(`takes ${address}`, (t) => {
    t.ok(isMailAddress(address))
    t.end()
  })

for (const address of [
  ...[null, undefined, 7, {}, ['ada@example.org'], '', 'ada', '@', 'ada@', '@example.org', 'a@b@c', ' ada@example.org'],
  ...['ada@example.org ', 'ada@example.org\r\nBcc: eve@example.org', 'ada@example.org\n', 'a\u0000@example.org'],
  ...[
    'Ada <ada@example.org>',
    'ada@example.org,eve@example.org',
    'ada@example.org;eve@example.org',
    '"a b"@example.org',
  ],
  ...['ada@example.org>\r\nRCPT TO:<eve@example.org', 'ada@[10.0.0.1]', 'ada@ex\u2028ample.org', 'a\ud800@example.org'],
  ...['a\u202e@example.org', 'a@example.org\u0085', `${'x'.repeat(65)}@example.org`, `a@${'x'.repeat(254)}`],
])
  t.test(`does not take ${shown(address)}`, (t) => {
    t.notOk(isMailAddress(address))
    t.end()
  })
