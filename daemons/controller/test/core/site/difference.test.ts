/** Tests of core/site/changes.ts. */
import { t } from 'tap'
import { differenceOf } from '../../../core/site/changes.ts'
import { siteOf, take } from '../../site-world.ts'

const site = {
  device: [{ name: 'Dimmer', password: 'devpass', config: { pin: 'pinpass', host: 'a' } }],
  zone: [{ name: 'Hall', max: 100 }],
  attribute: [
    { name: 'level', value: 5, system_target: 'zone', target_id: 1 },
    { name: 'code', value: 'codepass', secure: true, system_target: 'zone', target_id: 1 },
    { name: 'api_key', value: 'keypass', system_target: 'zone', target_id: 1 },
    { name: 'blob', value: { password: 'blobpass', x: 1 }, system_target: 'zone', target_id: 1 },
  ],
}

async function sentences(document: unknown): Promise<string[]> {
  const book = await siteOf(site)
  const before = await siteOf(site)
  return (await take(document, book)).map((change) => differenceOf(before, change).sentence)
}

t.test('a change shows the value before and after', async (t) => {
  t.same(
    await sentences({
      zone: [
        { name: 'Hall', max: 80, icon: 'lamp' },
        { name: 'New', elevated: true },
      ],
    }),
    ['~ zone 1 "Hall": max 100 -> 80; icon none -> "lamp"', '+ zone 2 "New": elevated true'],
  )
  t.same(await sentences({ attribute: [], zone: [] }), [
    '- zone 1 "Hall"',
    ...[
      [1, 'level'],
      [2, 'code'],
      [3, 'api_key'],
      [4, 'blob'],
    ].map(([id, name]) => `- attribute ${id} "${name}"`),
  ])
})

t.test('a change shows no secret, neither the old nor the new', async (t) => {
  const target = { system_target: 'zone', target_id: 1 }
  const said = await sentences({
    device: [
      { name: 'Dimmer', password: 'newpass', config: { pin: 'otherpass', host: 'b' } },
      { name: 'x', api_key: 'apipass' },
    ],
    auth_user: [{ username: 'Ada', password: 'adapass', pin: '471199' }],
    attribute: [
      { name: 'level', value: 6, ...target },
      { name: 'code', value: 'newcodepass', secure: true, ...target },
      { name: 'api_key', value: 'newkeypass', ...target },
      { name: 'blob', value: { password: 'newblobpass', x: 2 }, ...target },
    ],
  })
  t.notMatch(said.join('\n'), /pass\b|hashed|salted/)
  t.match(said.join('\n'), 'password (secret) -> (secret); config {"pin":null,"host":"a"} -> {"pin":null,"host":"b"}')
  t.match(said.join('\n'), 'value {"password":null,"x":1} -> {"password":null,"x":2}')
  t.equal(said.length, 7)
})
