import t from 'tap'
import { cookieOf, dropEverywhere, dropPlanted, dropSession } from '../../http/cookies.ts'

t.test('finds a cookie among others by its full name', async (t) => {
  const headers = { cookie: 'a=1; svc_handoff_old=2;svc_handoff=abc; b=svc_handoff=9' }
  t.equal(cookieOf(headers, 'svc_handoff'), 'abc')
  t.equal(cookieOf(headers, 'svc'), undefined)
  t.equal(cookieOf({}, 'svc_handoff'), undefined)
})

t.test('accepts a cookie that is sent twice only if both values are the same', async (t) => {
  t.equal(cookieOf({ cookie: 'n=abc; n=abc' }, 'n'), 'abc')
  t.equal(cookieOf({ cookie: 'n=abc; n=abd' }, 'n'), undefined)
})

t.test('rejects a value that no cookie can have', async (t) => {
  for (const value of ['', 'a b', 'a"b', 'a\\b', 'a,b', 'ä', 'a\u0000', 'x'.repeat(257)])
    t.equal(cookieOf({ cookie: `n=${value}` }, 'n'), undefined, JSON.stringify(value.slice(0, 9)))
})

t.test('clears a cookie of another system for the host and for each domain it belongs to', async (t) => {
  const domains = (host: string | undefined) =>
    dropEverywhere('svc_handoff', host).map((line) => /Domain=(.*)$/.exec(line)?.[1])
  t.same(domains('b2.plant.example:3130'), [undefined, 'b2.plant.example', 'plant.example'])
  t.same(domains('Plant.Example.'), [undefined, 'plant.example'])
  for (const host of ['10.0.0.7:3130', '[fd00::7]:3130', 'harbour', 'localhost:3130', 'a;b.example', '', undefined])
    t.same(domains(host), [undefined], String(host))
})

t.test('clears sessions that a sibling host has planted for a domain, and never its own', async (t) => {
  const cookie = { name: 'svc_session', isSecure: true }
  const own = dropSession(cookie)
  t.same(dropPlanted(cookie, 'b2.plant.example:3130'), [
    `${own}; Domain=b2.plant.example`,
    `${own}; Domain=plant.example`,
  ])
  t.same(dropPlanted(cookie, '10.0.0.7:3130'), [])
})
