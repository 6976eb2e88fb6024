/** What a person or a key may be. */

/** From the most to the least. */
export const roles = ['admin', 'viewer'] as const

export type Role = (typeof roles)[number]
