/** Tests of how the pages of a board sign in: learned once, asked for again in a dialog, changed without a question. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { call, signCallsWith } from '#kit/web/call.ts'
import {
  basicCredentials,
  basicHeader,
  changePassword,
  isSignedOut,
  learn,
  signedInWith,
  tryPassword,
} from '../../web/api.ts'

/** A board that accepts one password, and a browser that keeps its credentials. */
function fakeWorld(t: Test) {
  const world = { password: 'first', browserKnows: 'first', asked: 0, told: [] as string[] }
  const real = { fetch: globalThis.fetch, request: globalThis.XMLHttpRequest }
  globalThis.fetch = async (path, init: RequestInit = {}) => {
    world.asked++
    const given = (init.headers as Record<string, string> | undefined)?.authorization
    const sent = given ?? (init.credentials === 'omit' ? null : basicHeader(world.browserKnows))
    const isRight = world.password === '' || sent === basicHeader(world.password)
    const body = path === '/api/auth' ? { authorization: sent } : { fine: true }
    return new Response(JSON.stringify(isRight ? body : {}), { status: isRight ? 200 : 401 })
  }
  class FakeRequest {
    onloadend = () => {}
    /** Method, path, asynchronous, user, password. */
    open(...given: unknown[]): void {
      const password = String(given[4])
      world.told.push(password)
      world.browserKnows = password
    }
    send(): void {
      setImmediate(() => this.onloadend())
    }
  }
  globalThis.XMLHttpRequest = FakeRequest as never
  t.teardown(() => {
    globalThis.fetch = real.fetch
    globalThis.XMLHttpRequest = real.request
  })
  return world
}

t.test('B.auth.1 the pages sign their calls with the credentials of the browser', async (t) => {
  const world = fakeWorld(t)
  signCallsWith(basicCredentials)

  await t.test('a call before the credentials are known fetches them on its own', async (t) => {
    t.same(await call('GET /api/status'), { fine: true })
    t.equal(signedInWith(), basicHeader('first'))
    t.equal(isSignedOut.value, false)
  })

  await t.test('a password changed elsewhere is asked for once, and every call waits for it', async (t) => {
    world.password = 'second'
    const calls = Promise.all([call('GET /api/status'), call('GET /api/serial')])
    await until('somebody is to sign in', () => isSignedOut.value)
    t.equal(isSignedOut.value, true)
    const asked = world.asked
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal(world.asked, asked, 'nothing is called meanwhile')
    t.equal(await tryPassword('wrong'), false)
    t.same(world.told, [], 'the browser is not given a wrong password')
    t.equal(await tryPassword('second'), true)
    t.same(await calls, [{ fine: true }, { fine: true }])
    t.same(world.told, ['second'])
    t.equal(isSignedOut.value, false)
  })

  await t.test('a password changed here is not asked for', async (t) => {
    let during: Promise<unknown> | undefined
    await changePassword('third', async () => {
      world.password = 'third'
      during = call('GET /api/status')
      await new Promise((resolve) => setTimeout(resolve, 20))
    })
    t.same(await during, { fine: true })
    t.equal(isSignedOut.value, false)
    t.same(world.told, ['second', 'third'])
  })

  await t.test('a refused change keeps the previous password', async (t) => {
    await t.rejects(
      changePassword('fourth', () => Promise.reject(new Error('too long'))),
      { message: 'too long' },
    )
    t.equal(signedInWith(), basicHeader('third'))
  })

  await t.test('without a password nothing is sent', async (t) => {
    await changePassword('', async () => {
      world.password = ''
    })
    t.equal(signedInWith(), null)
    t.same(await call('GET /api/status'), { fine: true })
    await learn()
    t.same(world.told, ['second', 'third'])
  })
})
