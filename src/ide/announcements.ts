/** This editor, made known to the CLIs of all profiles: their discovery files and variables, together. */
import type { Log } from "../log.ts";
import { createDiscovery } from "./discovery.ts";
import { DiscoveryError } from "./discovery-directory.ts";
import type { Profile } from "./profiles.ts";
import { type Announcement, discoveryVariables, foreignVariables, listsAny } from "./wire.ts";
import { canBeJoined } from "./workspace.ts";

export interface Announcements {
  /** Of the discovery files. */
  readonly paths: string[];
  /**
   * Publishes these roots.
   * @throws {DiscoveryError} when the first profile's CLIs cannot find this editor; of others `failed` is told
   */
  publish(workspace: readonly string[]): void;
  /** Puts back what is gone. @throws {DiscoveryError} like `publish` */
  restore(): void;
  /** Makes the files' dates those of now. */
  refresh(): void;
  /** Deletes the files, synchronously. May run twice. */
  remove(): void;
  /** What leads CLIs that are started in this editor here, and what would lead them elsewhere. */
  variables(open: readonly string[]): { set: Record<string, string>; unset: string[] };
}

export interface AnnouncementsOptions {
  profiles: readonly Profile[];
  /** What the CLIs of this profile are told. */
  announcement: (profile: Profile) => Announcement;
  log: Log;
  /** These CLIs cannot find this editor. */
  failed: (profile: Profile, error: DiscoveryError) => void;
}

export function createAnnouncements(options: AnnouncementsOptions): Announcements {
  const { log, failed } = options;
  const all = options.profiles.map((profile) => {
    const announcement = options.announcement(profile);
    return { profile, announcement, discovery: createDiscovery({ profile, announcement, report: log.warn }) };
  });
  const listed = (profile: Profile, workspace: readonly string[]) =>
    listsAny(profile) ? workspace : workspace.filter(canBeJoined);

  function each(run: (one: (typeof all)[number]) => void): void {
    for (const one of all) {
      try {
        run(one);
      } catch (error) {
        if (!(error instanceof DiscoveryError) || one === all[0]) throw error;
        failed(one.profile, error);
      }
    }
  }

  return {
    paths: all.map(({ discovery }) => discovery.path),
    publish: (workspace) => each(({ profile, discovery }) => discovery.publish(listed(profile, workspace))),
    restore: () => each(({ discovery }) => discovery.restore()),
    refresh() {
      for (const { discovery } of all) discovery.refresh();
    },
    remove() {
      for (const { discovery } of all) discovery.remove();
    },
    variables(open) {
      const set = all.map(({ profile, announcement }) =>
        discoveryVariables(profile, announcement, listed(profile, open)),
      );
      return {
        set: Object.assign({}, ...set),
        unset: all.flatMap(({ profile }) => foreignVariables(profile)),
      };
    },
  };
}
