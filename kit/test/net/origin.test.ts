/** Tests of net/address.ts. */
import t from 'tap'
import {
  isHostAllowed,
  isHostAmong,
  isOriginOf,
  isOwnHost,
  isOwnOrigin,
  originOfReferer,
  parseOrigin,
} from '../../net/address.ts'

t.test('an empty list allows every Host', async (t) => {
  t.equal(isHostAllowed('evil.example', []), true)
  t.equal(isHostAllowed(undefined, []), true)
})

t.test('a list allows its names, addresses and localhost, with or without port', async (t) => {
  const allowed = ['Plant.example']
  for (const host of [
    'plant.example',
    'PLANT.EXAMPLE:3132',
    'plant.example.',
    'localhost:1',
    '10.0.0.1',
    '[fd00::1]:80',
  ])
    t.equal(isHostAllowed(host, allowed), true, host)
  for (const host of [
    undefined,
    '',
    'evil.example',
    'plant.example.evil.example',
    'a@plant.example',
    'x/plant.example',
  ])
    t.equal(isHostAllowed(host, allowed), false, String(host))
})

t.test('a box is reached by its address, its own name, bare or with .local, or a configured name', async (t) => {
  for (const host of [
    '10.0.0.1:3132',
    '[fd00::1]',
    'localhost',
    'GW-B2',
    'gw-b2.local:3132',
    'gw-b2.',
    'meters.example',
  ])
    t.equal(isOwnHost(host, 'gw-b2', ['meters.example']), true, host)
  const domains = ['gw-b2.evil.example', 'gw-b2.local.evil.example', 'gw-b2.localdomain', 'gw-b2.plant.example']
  for (const host of [undefined, '', 'evil.example', 'x.gw-b2.local', 'gw-b2x.local', 'a@gw-b2', ...domains])
    t.equal(isOwnHost(host, 'gw-b2', []), false, String(host))
  t.equal(isOwnHost('.example', '', []), false, 'a machine without a name has none')
})

t.test('an Origin is own if its host and port are those of Host', async (t) => {
  t.equal(isOwnOrigin(undefined, 'box:3132'), true)
  t.equal(isOwnOrigin('http://box:3132', 'box:3132'), true)
  t.equal(isOwnOrigin('http://BOX', 'box:80'), true)
  t.equal(isOwnOrigin('https://box', 'box'), true)
  t.equal(isOwnOrigin('http://[fd00::1]:3132', '[fd00::1]:3132'), true)
})

t.test('any other Origin is foreign', async (t) => {
  for (const origin of [
    'http://box:3133',
    'http://evil',
    'null',
    '',
    'file://',
    'http://',
    'http://box:3132.evil',
    'ws://box:3132',
  ])
    t.equal(isOwnOrigin(origin, 'box:3132'), false, origin)
  t.equal(isOwnOrigin('http://box', undefined), false)
})

t.test('with a list, only its names and any address are allowed', async (t) => {
  for (const host of [
    '10.0.0.1:80',
    '[fd00::1]',
    '[fe80::1%eth0]:80',
    '[fe80::1%25eth0]',
    'localhost',
    'A.local.',
    'a.local:8080',
  ])
    t.equal(
      isHostAmong(host, () => ['a.local']),
      true,
      host,
    )
  for (const host of [
    undefined,
    '',
    'a',
    'a.local.evil.example',
    'evil.example',
    'x@a.local',
    'a.local/x',
    'a.local,b',
  ])
    t.equal(
      isHostAmong(host, () => ['a.local']),
      false,
      String(host),
    )
  for (const host of [
    '[fe80::1%]',
    '[fe80::1%eth0',
    '[evil%2e.example]',
    '[::1%eth0]evil.example',
    '10.0.0.1.evil.example',
  ])
    t.equal(
      isHostAmong(host, () => []),
      false,
      host,
    )
})

t.test('an Origin is scheme, host and port and nothing else', async (t) => {
  t.match(parseOrigin('http://Box.local'), { text: 'http://box.local', scheme: 'http', host: 'box.local', port: 80 })
  t.match(parseOrigin('https://10.0.0.1:443'), { text: 'https://10.0.0.1', port: 443 })
  t.match(parseOrigin('http://[FD00::1]:8080'), { text: 'http://[fd00::1]:8080', host: '[fd00::1]', port: 8080 })
  for (const text of [
    'null',
    '',
    'http://',
    'http://a/',
    'http://a/b',
    'http://a?b',
    'http://u@a',
    'http://a, http://b',
    'http://a http://b',
    'http://a:99999',
    'http://[fe80::1%25eth0]',
    'ftp://a',
    'file://',
    'javascript://a',
    'http:\\\\a',
    'http://a\\b',
  ])
    t.equal(parseOrigin(text), undefined, text)
})

t.test('a Referer gives the origin of its page', async (t) => {
  t.match(originOfReferer('http://box:8080/matrix?x#y'), { text: 'http://box:8080' })
  t.match(originOfReferer('http://box'), { text: 'http://box' })
  for (const text of ['', 'null', 'about:blank', 'http://u:p@box/', 'http://box\\@evil/', '//box/', 'http://bo x/'])
    t.equal(originOfReferer(text), undefined, text)
})

t.test('a page belongs to a host by scheme, name and port together', async (t) => {
  const of = (origin: string, host: string | undefined) => {
    const from = parseOrigin(origin)
    return from !== undefined && isOriginOf(from, host)
  }
  t.equal(of('http://box', 'BOX:80'), true)
  t.equal(of('https://box', 'box'), true, 'a TLS proxy has turned https into http')
  t.equal(of('http://box.', 'box.'), true)
  for (const host of [undefined, '', 'box:81', 'box.', 'x@box', 'box/x', 'box?x', 'box#x'])
    t.equal(of('http://box', host), false, String(host))
})
