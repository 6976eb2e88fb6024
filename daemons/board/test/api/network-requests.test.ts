/** What root of the machine asks of its network: an address that is not in force is not told as set. */
import { t } from 'tap'
import { createNetworkRequests } from '../../api/network-requests.ts'
import type { NetworkState } from '../../core/machine/network.ts'

type Parts = Parameters<typeof createNetworkRequests>[0]

/** Saves the settings that the board has already. @returns its answer, and how often it restarted */
async function savedAgain(state: NetworkState) {
  let restarted = 0
  const settings = { static_ip: true, ip: '10.20.4.11', hostname: 'lobby' }
  const requests = createNetworkRequests({
    book: { save: async () => ({ changed: [], settings }) } as unknown as Parts['book'],
    network: { view: () => ({ state, confirmUntil: null, text: '' }), goesBackTo: () => 'DHCP' } as Parts['network'],
    rebooter: { aboutS: 30, isOfMachine: true, reboot: async () => void restarted++ },
    recorder: { changed: async () => {} },
    confirmMs: 120_000,
  })
  const answer = await requests('PATCH', '/network', async () => ({ static_ip: '1' }))
  return { answer, restarted }
}

t.test('settings that the machine has stay as they are', async (t) => {
  t.match(await savedAgain('static'), { answer: { changed: [], restarts: false }, restarted: 0 })
})

t.test('an address that was taken back, or that the machine did not take, is tried again', async (t) => {
  for (const state of ['fallen_back', 'refused'] as const)
    t.match(await savedAgain(state), { answer: { changed: [], restarts: true }, restarted: 1 }, state)
})
