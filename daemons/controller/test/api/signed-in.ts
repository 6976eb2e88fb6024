/** The routes of the pages over a fake building, with somebody signed in: sam is elevated, ada is not. */
import { harbourHouse } from '../harbour-house.ts'
import { serveUi } from '../ui-server.ts'

export async function signedIn(t: { teardown(run: () => unknown): void }, username: 'ada' | 'sam' = 'sam') {
  const house = harbourHouse()
  // No mailed code: it is not what these tests are about.
  Object.assign(house.people.get('sam') ?? {}, { code: undefined })
  const { url, visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', { username, password: house.people.get(username)?.password })
  return { house, browser, url }
}
