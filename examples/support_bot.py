"""A support bot with many customers: one profile each, one shared handbook, rules for keeping, and erasure.

    python examples/support_bot.py

`reply` stands where a language model belongs. The bot is asynchronous, as the web framework around it will be.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from holdfast import AsyncHoldfast

NAMESPACE, HANDBOOK = "support", "handbook"
KEPT = {"forget": [{"kind": "message", "older_than": "90d"}]}


def reply(prompt: str, question: str) -> str:
    return "(A model answers here.)"


@dataclass
class SupportBot:
    memory: AsyncHoldfast

    async def prepare(self) -> None:
        """Once, at the start: the handbook, and how long conversations of all customers are kept."""
        handbook = self.memory.profile(NAMESPACE, HANDBOOK)
        await handbook.add("Refunds take five working days after the parcel arrives.", name="refunds.txt", wait=True)
        await self.memory.set_namespace_retention(NAMESPACE, KEPT)

    async def prompt(self, customer: str, ticket: str, question: str) -> str:
        """What this customer said before, and the handbook, ranked together; no other customer is asked."""
        known = self.memory.across(NAMESPACE, [customer, HANDBOOK])
        return str(await known.context(question, tokens=600, exclude_session=ticket))

    async def handle(self, customer: str, ticket: str, question: str) -> str:
        answer = reply(await self.prompt(customer, ticket, question), question)
        turn = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        await self.memory.profile(NAMESPACE, customer).ingest(turn, session_id=ticket)
        return answer

    async def erase(self, customer: str) -> bool:
        """The right to be forgotten: the customer's file and the key to it go."""
        return await self.memory.delete_profile(NAMESPACE, customer)


async def main() -> None:
    async with await AsyncHoldfast.open("./support-memory") as memory:
        bot = SupportBot(memory)
        await bot.prepare()
        await bot.handle("ana", "ticket-1", "My order 8862 arrived broken. I prefer refunds to vouchers.")
        await bot.handle("ben", "ticket-2", "My order 1207 is late.")
        print(await bot.prompt("ana", "ticket-3", "When do I get the refund for my broken order?"))
        print("erased:", await bot.erase("ana"))


if __name__ == "__main__":
    asyncio.run(main())
