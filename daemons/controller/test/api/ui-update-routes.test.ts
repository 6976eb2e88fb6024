/** Tests of api/ui-update-routes.ts. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { signedIn } from './signed-in.ts'

const POSTS = ['/ui/update/look', '/ui/update/apply', '/ui/restart']

t.test('C.3 updates and the restart are for elevated sessions only', async (t) => {
  const { browser, house } = await signedIn(t, 'ada')
  for (const path of POSTS)
    t.match(await browser.call('POST', path, {}), { status: 403, body: { error: 'not_elevated' } }, path)
  t.match(await browser.call('GET', '/ui/update'), { status: 403 })
  browser.cookies.clear()
  for (const path of POSTS) t.match(await browser.call('POST', path, {}), { status: 401 }, path)
  t.match(house.records[0], { path: '/ui/restart', granted: false, reason: 'invalid_session' })
  t.same(house.updates.asked, [])
})

t.test('no page of another site presses the button', async (t) => {
  const { browser, house } = await signedIn(t)
  for (const path of POSTS)
    t.match(await browser.call('POST', path, {}, { origin: 'http://elsewhere.example' }), { status: 403 }, path)
  t.match(house.records[0], { granted: false, reason: 'foreign_origin' })
  for (const path of POSTS) t.match(await browser.call('POST', path, { version: '9.9.9' }), { status: 400 }, path)
  t.same(house.updates.asked, [])
})

t.test('C.1 an elevated session looks, applies and restarts, and each is recorded', async (t) => {
  const { browser, house } = await signedIn(t)
  house.updates.view = {
    ...house.updates.view,
    ...{ state: 'applying', window: '03:00-04:00', looked: { at: 1, newest: '1.3.0' } },
    run: { task: 'apply', begunAt: 2, lines: [{ at: 3, text: '1.3.0 is there, 1.2.3 runs' }], end: null },
    last: { at: 1, outcome: 'rolled_back', text: '1.2.9 was taken back' },
  }
  for (const path of POSTS) t.match(await browser.call('POST', path, {}), { status: 200 }, path)
  t.same(house.updates.asked, ['look', 'apply by sam', 'restart by sam'])
  t.match(house.records.slice(0, 3), [
    { path: '/ui/restart', granted: true, target: 'controller', username: 'sam' },
    { path: '/ui/update/apply', granted: true, target: 'update', username: 'sam' },
    { path: '/ui/update/look', granted: true },
  ])
  t.match((await browser.call('GET', '/ui/update')).body, {
    ...{ state: 'applying', version: '1.2.3', window: '03:00-04:00', looked: { newest: '1.3.0', bad: null } },
    run: { task: 'apply', lines: [{ text: '1.3.0 is there, 1.2.3 runs' }], end: null, is_cut: false },
    last: { outcome: 'rolled_back' },
  })
})

t.test('why nothing began is answered', async (t) => {
  const { browser, house } = await signedIn(t)
  for (const [code, status] of [
    ['update_busy', 409],
    ['update_foreign', 409],
    ['update_refused', 409],
    ['update_unreachable', 503],
  ] as const) {
    house.updates.refusal = new Fault(code, 'this is why')
    t.match(await browser.call('POST', '/ui/update/apply', {}), {
      status,
      body: { error: code, message: /this is why/ },
    })
  }
})
