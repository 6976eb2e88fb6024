/** Routes of the people who sign in to the recorder. */
import { loginRoutes, userRoutes } from '#kit/http/people-routes.ts'
import type { Route } from '#kit/http/route.ts'

type PeopleRouteParts = Parameters<typeof loginRoutes>[0] & Parameters<typeof userRoutes>[0]

/** Setup, sign-in, users. The recorder has no name of its own to give. */
export function peopleRoutes(parts: PeopleRouteParts): Route[] {
  return [...loginRoutes({ ...parts, rename: undefined }), ...userRoutes(parts)]
}
