/** Tests of api/ui-gate.ts. */
import t from 'tap'
import { cookieOf, dropHandoff, dropPlanted, dropSession } from '../../api/ui-gate.ts'

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

t.test('clears the nonce for the host and for each domain it belongs to', async (t) => {
  const domains = (host: string | undefined) => dropHandoff(host).map((line) => /Domain=(.*)$/.exec(line)?.[1])
  t.same(domains('b2.plant.example:3130'), [undefined, 'b2.plant.example', 'plant.example'])
  t.same(domains('Plant.Example.'), [undefined, 'plant.example'])
  for (const host of ['10.0.0.7:3130', '[fd00::7]:3130', 'harbour', 'localhost:3130', 'a;b.example', '', undefined])
    t.same(domains(host), [undefined], String(host))
})

t.test('clears sessions that a sibling host has planted for a domain, and never its own', async (t) => {
  const own = dropSession(true)
  t.same(dropPlanted('b2.plant.example:3130', true), [
    `${own}; Domain=b2.plant.example`,
    `${own}; Domain=plant.example`,
  ])
  t.same(dropPlanted('10.0.0.7:3130', true), [])
})
