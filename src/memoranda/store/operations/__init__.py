"""What a store does, as generators that neither wait nor know which engine they run on."""
